"""Listeners for the progress of passes over rows."""

from lowdim._core.threads import watched_by


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


def passes_of(call, *given, **options):
    """The names of the passes over rows that a call makes, in order; steps of EM on grouped rows are none."""
    progress = RecordedProgress()
    with watched_by(progress):
        call(*given, **options)
    return [name for name, _ in progress.passes if name != "EM"]


class Recorder:
    """A callback of scikit-learn that writes down what it hears."""

    def __init__(self):
        self.begun, self.ended, self.set_up, self.torn_down = [], [], 0, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context, **data):
        self.begun.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, **data):
        self.ended.append((context.task_name, context.max_subtasks))

    @property
    def passes(self):
        """Names of the passes over the rows, in order."""
        return [name for name, _ in self.begun if name not in ("fit", "block")]


def heard(model, rows, **options):
    """What a callback hears of a fit."""
    recorder = Recorder()
    model.set_callbacks(recorder).fit(rows, **options)
    assert (recorder.set_up, recorder.torn_down) == (1, 1)
    assert sorted(map(str, recorder.begun)) == sorted(map(str, recorder.ended)), "each task that begins ends"
    return recorder
