"""What the planner takes the patients' columns for."""

from embedalloc.study.heart.patients import read_patients
from tests.data.test_roles import roles_of
from tests.places import ROOT


def test_the_heart_data_as_numbers():
    """Every column is a number in the original files; the paper calls these nine categorical."""
    patients = read_patients(
        ROOT / "workflow/resources/heart_disease", cholesterol_zero_is_missing=False
    )
    found = roles_of(patients.drop(columns="disease"), patients["disease"])
    tables = {name for name, role in found.items() if role.taken_as == "table"}
    assert tables == {
        *("sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal", "source"),
    }
    assert found["patient"].taken_as == "identifier"
