"""The sample-complexity laboratory: tasks, learners, training, thresholds and the laws of their growth."""
