"""A listener for the progress of passes over rows."""


class RecordedProgress:
    """Records the reports of each pass: its name and number of blocks, each block, and its end."""

    def __init__(self):
        self.passes, self.steps, self.ended = [], [], 0

    def begin(self, what, n_blocks, block_rows=None):
        self.passes.append((what, n_blocks))
        self.steps.append(0)

    def step(self):
        self.steps[-1] += 1

    def end(self):
        self.ended += 1
