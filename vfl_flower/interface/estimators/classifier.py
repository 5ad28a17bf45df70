"""Classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from vfl_flower.config.catalog import BINARY, MULTI_CLASS
from vfl_flower.data.tables.prediction_file import rounded
from vfl_flower.interface.estimators.base import VFLEstimator
from vfl_flower.workflows.prediction import values_of


class VFLClassifier(ClassifierMixin, VFLEstimator):  # type: ignore[misc]
    """Classifier whose columns lie at several parties, for research on one table.

    All rows given to `fit` train, unless some choose the weights (`keep`), or `options` says so.

    Parameters
    ----------
    columns : int or list of lists, default=2
        Each party's columns by name or place, the active party's first, which has the labels; its
        list may be empty. A number: the columns in order, in so many parts.
    method : str, default="splitnn"
        See `vfl_flower.train`.
    models : str, type, Module or list, optional
        One network, or one for each party; see `vfl_flower.train`.
    epochs : int, default=20
        Passes over the training rows.
    batch_size : int, default=128
        Rows a step; all training rows, if there are fewer.
    learning_rate : float or list of float, optional
        One, or one for each party; by default each optimizer's own.
    optimizer : str or list of str, optional
        One, or one for each party.
    keep : {"last", "best"}, default="last"
        Weights that count: the last, or those of the best accuracy on validation rows, a tenth of
        the rows.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and validation rows. An integer makes results repeatable.
    options : dict, optional
        Other options of ``vfl-flower train``, with underscores.

    Attributes
    ----------
    classes_ : ndarray
        (C,): the classes, in order.
    n_features_in_ : int
        Columns seen by `fit`.
    feature_names_in_ : ndarray
        (M,): their names, if all are text.
    n_iter_ : int
        Epochs done.
    run_ : Run
        The run, with its history, traffic and audits. It calls classes by their places in
        `classes_`. A pickled estimator keeps it without training rows, so that it cannot be audited
        after that.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "VFLClassifier":  # noqa: ANN401
        """Train on one table.

        Parameters
        ----------
        X : DataFrame or array-like
            (N, M): numbers, and text or categories; NaN is a gap.
        y : array-like
            (N,): classes.
        sample_weight : array-like, optional
            (N,): weights of the rows in the loss, none negative. Their sum does not matter.

        Returns
        -------
        VFLClassifier
            This one.

        Raises
        ------
        ValueError
            If X, y, sample_weight or `columns` cannot be used.
        VflError
            If an option, or what is in a column, cannot be used.
        """
        cells, labels = self._checked(X, y, y_numeric=False)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y has one class only; a classifier needs two classes or more")
        task = BINARY if len(self.classes_) == 2 else MULTI_CLASS
        self._train(cells, codes, task, sample_weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Predict probabilities of classes, (N, C), of rows, (N, M).

        Their sum is 1, unless ``score-digits`` rounds them.
        """
        shares: NDArray[np.float64] = values_of(*self._said(X)).astype(np.float64)
        return rounded(shares / shares.sum(1, keepdims=True), self.run_.config.score_digits)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict classes, (N,), of rows, (N, M)."""
        target, said = self._said(X)
        chosen: NDArray[Any] = self.classes_[target.decided(said).cpu().numpy()]
        return chosen
