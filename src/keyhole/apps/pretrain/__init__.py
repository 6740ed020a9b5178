"""Pretraining on latent models: tasks with their exact Bayes risk, learners, and what they are good for downstream.

A task here is a latent model and a question; its runs (`keyhole.sweeps.runs`) are kept in the same store as all
others. Learners with few parameters are fitted by L-BFGS from a random start, without a framework;
networks are trained by `keyhole.training.network`, in worker processes.
"""
