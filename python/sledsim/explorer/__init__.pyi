"""Public names of ``sledsim.explorer``, each loaded on first use."""

from sledsim.explorer.html_page import page as page
from sledsim.explorer.lesson import Choice as Choice
from sledsim.explorer.lesson import Column as Column
from sledsim.explorer.lesson import Lesson as Lesson
from sledsim.explorer.lesson import Question as Question
from sledsim.explorer.lesson import Step as Step
from sledsim.explorer.notebook import Explorer as Explorer
from sledsim.explorer.notebook import explore as explore

__all__: list[str]
