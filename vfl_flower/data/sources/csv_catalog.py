"""Catalogue of published tables that are read from local files."""

from vfl_flower.data.sources.csv_tables import Source, data_set


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADULT_TABLE = Source(
    folder="adult",
    files=("adult.data", "adult.test"),
    published="https://archive.ics.uci.edu/dataset/2/adult",
    fields=_names(
        "age workclass fnlwgt education education-num marital-status occupation relationship race "
        "sex capital-gain capital-loss hours-per-week native-country income"
    ),
    label="income",
    classes=("<=50K", ">50K"),
    positive=">50K",
    categorical=frozenset(
        _names("workclass education marital-status occupation relationship race sex native-country")
    ),
    gap="?",
    label_end=".",  # in adult.test only
    comment="|",
)
ADULT = data_set(ADULT_TABLE)

BREAST_CANCER_ORIGINAL_TABLE = Source(
    folder="breast-cancer-wisconsin",
    files=("breast-cancer-wisconsin.data",),
    published="https://archive.ics.uci.edu/dataset/15/breast+cancer+wisconsin+original",
    fields=(
        *("Sample code number", "Clump Thickness", "Uniformity of Cell Size"),
        *("Uniformity of Cell Shape", "Marginal Adhesion", "Single Epithelial Cell Size"),
        *("Bare Nuclei", "Bland Chromatin", "Normal Nucleoli", "Mitoses", "Class"),
    ),
    label="Class",
    classes=("2", "4"),  # benign, malignant
    positive="4",
    ids=frozenset({"Sample code number"}),
    gap="?",
)
BREAST_CANCER_ORIGINAL = data_set(BREAST_CANCER_ORIGINAL_TABLE)

PIMA_TABLE = Source(
    folder="pima",
    files=("pima-indians-diabetes.csv",),
    published="https://github.com/jbrownlee/Datasets",
    fields=_names("pregnancies glucose pressure skin insulin bmi pedigree age class"),
    label="class",
    classes=("0", "1"),
    positive="1",
    zero_gaps=frozenset(_names("glucose pressure skin insulin bmi")),  # nobody alive has 0
)
PIMA = data_set(PIMA_TABLE)

CREDIT_DEFAULT_TABLE = Source(
    folder="uci-default-credit",
    files=("UCI_Credit_Card.csv",),
    published="https://www.kaggle.com/datasets/uciml/default-of-credit-card-clients-dataset",
    fields=(
        *_names("ID LIMIT_BAL SEX EDUCATION MARRIAGE AGE"),
        *(f"PAY_{n}" for n in (0, 2, 3, 4, 5, 6)),
        *(f"BILL_AMT{n}" for n in range(1, 7)),
        *(f"PAY_AMT{n}" for n in range(1, 7)),
        "default.payment.next.month",
    ),
    label="default.payment.next.month",
    classes=("0", "1"),
    positive="1",
    header=True,
    ids=frozenset({"ID"}),
    categorical=frozenset(_names("SEX EDUCATION MARRIAGE")),
)
CREDIT_DEFAULT = data_set(CREDIT_DEFAULT_TABLE)

CREDIT_CARD_FRAUD_TABLE = Source(
    folder="credit-card-fraud",
    files=("creditcard.csv",),
    published="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
    fields=("Time", *(f"V{n}" for n in range(1, 29)), "Amount", "Class"),
    label="Class",
    classes=("0", "1"),
    positive="1",
    header=True,
)
CREDIT_CARD_FRAUD = data_set(CREDIT_CARD_FRAUD_TABLE)
