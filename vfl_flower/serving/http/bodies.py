"""Bodies of requests and responses, as the OpenAPI page shows them."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr


def _encodable(text: str) -> str:
    """Refuse a lone surrogate, which no answer could hold."""
    text.encode()  # UnicodeEncodeError is a ValueError, as pydantic wants it
    return text


Part = StrictInt | Annotated[StrictStr, AfterValidator(_encodable)]
IdBody = Part | Annotated[list[Part], Field(min_length=2, max_length=16)]


class PredictRequest(BaseModel):
    """Ids of rows to predict."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[IdBody], Field(min_length=1)] = Field(
        description="Ids of the active party's table; of ids of several columns a list for each; "
        "row numbers from 0 where the data have no ids.",
        examples=[["c-0017", "c-0018"]],
    )
    model: StrictStr = Field(
        "",
        description="Number of the run whose model is to predict; a request for another one is "
        "refused with 409.",
    )


class Prediction(BaseModel):
    """Answer for one id."""

    id: IdBody
    status: str = Field(
        description="predicted; unknown: the active party's table has no such id; missing: another "
        "party lacks the row."
    )
    prediction: Any = Field(
        None, description="Class or number; of several labels the value of each label."
    )
    probabilities: dict[str, float] | None = Field(None, description="By class or label.")


class PredictResponse(BaseModel):
    """Answers in the order of the ids."""

    model: str = Field(description="Number of the run whose model predicted.")
    predictions: list[Prediction]


class Refusal(BaseModel):
    """One line that says why there is no answer."""

    detail: str
