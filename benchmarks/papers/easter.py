"""EASTER, Wang et al. 2023, arXiv:2310.13367."""

from benchmarks.reproducing.paper import Cell, Experiment, Paper, Table

PUBLISHED = {
    "method": "easter",
    "parties": "4",
    "partition": "strips",
    "optimizers": "sgd",
    "learning-rates": "0.05",
    "epochs": "20",
    "batch-size": "128",
}
MIXED = "cnn,lenet,mlp,mlp"

PAPER = Paper(
    title="EASTER",
    reference="Wang et al. 2023, arXiv:2310.13367",
    repeats=5,
    experiments={
        "mnist mixed": Experiment(PUBLISHED | {"dataset": "mnist", "models": MIXED}, minutes=6),
    },
    tables=(
        Table(
            name="table2",
            title="Test accuracy of parties with different networks",
            place="Table 2",
            cells=(
                Cell("EASTER, MNIST", "CNN", "mnist mixed", "test:active", 97.58),
                Cell("EASTER, MNIST", "LeNet", "mnist mixed", "test:party-1", 97.87),
                Cell("EASTER, MNIST", "MLP", "mnist mixed", "test:party-2", 97.73),
            ),
        ),
    ),
)
