"""Shapes of pictures, and what is refused."""

import pytest

from lowdim.inspect.diagnostics import checked_image_shape


def test_shapes_of_pictures():
    assert checked_image_shape([2, 3], 6) == (2, 3)
    assert checked_image_shape((2, 1, 4), 8) == (2, 1, 4)


@pytest.mark.parametrize("wrong", [(2, 4), (6,), (1, 2, 3, 1), (-2, -3), (3, 1, 2), 6])
def test_other_shapes_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        checked_image_shape(wrong, 6)
    with pytest.raises(ValueError, match="must be"):
        checked_image_shape((2, 1, 4), 8, colours=(3,))
