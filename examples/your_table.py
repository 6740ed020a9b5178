"""Your own table: how many rows does a diagnosis take, and what do irrelevant columns cost?

scikit-learn's breast-cancer data: 569 patients, 30 numbers each. A ridge-penalised regression needs about ten times as
many rows once 300 shuffled columns stand beside the 30; a lasso hardly notices them. Its digits: is this an 8?

    python examples/your_table.py
"""

from sklearn.datasets import load_breast_cancer, load_digits

from keyhole.apps.tables.curve import curve
from keyhole.apps.tables.table import make_table


def main() -> None:
    """Both tables."""
    patients = make_table(*load_breast_cancer(return_X_y=True))
    diagnosis = curve(patients, ["sklearn:logistic", "sklearn:lasso"], accuracy=0.92, irrelevant=[300], splits=6)
    print(diagnosis)
    for name, curves in diagnosis.learners.items():
        needed, beside = (each.rows_needed for each in curves)
        print(f"{name}: rows for 92 %: {needed}; with 300 irrelevant columns: {beside or 'more than there are'}\n")
    digits = make_table(*load_digits(return_X_y=True), positive="8")
    eights = curve(digits, ["sklearn:tree", "sklearn:logistic"], splits=4)
    print(eights)


if __name__ == "__main__":
    main()
