"""Your own table: how many rows does a diagnosis take, and what do irrelevant columns cost?

scikit-learn's breast-cancer data: 569 patients, 30 numbers each. A ridge-penalised regression needs about ten times as
many rows once 300 shuffled columns stand beside the 30; a lasso hardly notices them. Its digits: is this an 8?

    python examples/your_table.py
"""

from sklearn.datasets import load_breast_cancer, load_digits

from keyhole.apps.tables.curve import curve


def main() -> None:
    """Both tables."""
    patients = load_breast_cancer(return_X_y=True)
    diagnosis = curve(patients, beside=["sklearn:lasso"], accuracy=0.92, irrelevant=[300], splits=6)
    print(diagnosis)
    for name in diagnosis.curves:
        needed, beside = diagnosis.rows_for(name), diagnosis.rows_for(name, 300)
        print(f"{name}: rows for 92 %: {needed}; with 300 irrelevant columns: {beside or 'more than there are'}\n")
    digits = load_digits(return_X_y=True)
    eights = curve(digits, positive="8", learner="sklearn:tree", beside=["sklearn:logistic"], splits=4)
    print(eights)


if __name__ == "__main__":
    main()
