"""Which part of the long tests a turn runs."""

import pytest

from tests.turn import in_turn, this_turn


def test_so_many_turns_see_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(20)]
    monkeypatch.delenv("MINITORCH_TURN", raising=False)
    assert in_turn(names, 6, this_turn()) == names
    monkeypatch.setenv("MINITORCH_TURN", "all")
    assert in_turn(names, 6, this_turn()) == names
    seen = []
    for turn in range(100, 106):  # six commits after each other
        monkeypatch.setenv("MINITORCH_TURN", str(turn))
        seen.append(in_turn(names, 6, this_turn()))
    assert sorted(name for each in seen for name in each) == sorted(names)
    assert {len(each) for each in seen} == {3, 4}
