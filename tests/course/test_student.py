"""Whose a submission is, by its path."""

import pytest

from course.grading.student import students_of

CHAPTERS = ["00_welcome", "06_topic", "06b_more"]


@pytest.mark.parametrize(
    "path",
    [
        "class/ann.ipynb",
        "ann.ipynb",
        "class/ann/06_topic.ipynb",
        "class/ann/06_topic.IPYNB",
        "class/ann/06_topic (1).ipynb",
        "class/ann/06_topic.ipynb.txt",
        "class/ann/06_topic (1).tar.gz",
        "class/ann.zip",
        "class/ann/00_welcome-Copy1.ipynb",
        "class/ann/00_welcome - Copy (2).ipynb",
        "class/ann/Copy of 00_welcome.ipynb",
        "class/ann/06_topic_v2.ipynb",
        "class/ann/06_TOPIC_final.ipynb",
        "class/ann/Untitled.ipynb",
        "class/ann/Untitled3.ipynb",
        "class/ann/Untitled-Copy1.ipynb",
        "class/ann/submission.ipynb",
        "class/ann/Homework 3 final.ipynb",
        "submitted/ann/06_topic/06_topic.ipynb",
        "submitted/ann/06_topic/06_topic (1).ipynb",
        "/home/ann/06b_more.ipynb#06_topic",
        "class/ann/bob.ipynb",
    ],
)
def test_whose_it_is(path: str) -> None:
    others = ["class/bob/06_topic.ipynb", "class/ann/00_welcome.ipynb"]
    assert students_of([path, *others], CHAPTERS)[path] == "ann"


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("class/06_topic_bob.ipynb", "06_topic_bob"),  # one folder for all: the file's name tells them apart
        ("class/06_topical.ipynb", "06_topical"),
        ("first/bob.ipynb", "bob"),
        ("06_topic.ipynb", ""),
        ("bob/bob.ipynb", "bob"),
    ],
)
def test_what_a_name_is_not(path: str, student: str) -> None:
    assert students_of([path, "second/bob.ipynb", "second/carl.ipynb"], CHAPTERS)[path] == student


def test_nobody_hands_in_under_another_folders_name() -> None:
    assert students_of(["ann/bob.ipynb", "bob/06_topic.ipynb"], CHAPTERS)["ann/bob.ipynb"] == "ann"
    assert students_of(["ann/bob.ipynb", "carl/06_topic.ipynb"], CHAPTERS)["ann/bob.ipynb"] == "bob"


def test_no_student_is_lost_where_files_of_several_folders_are_called_alike() -> None:
    paths = [
        *(f"class/{each}.ipynb" for each in ("ann/work", "ben/work", "carl/work (1)")),
        "class/dora/06_topic.ipynb",
    ]
    assert list(students_of(paths, CHAPTERS).values()) == ["ann", "ben", "carl", "dora"]
    rounds = ["first/ann.ipynb", "first/ben.ipynb", "second/ben.ipynb"]
    assert list(students_of(rounds, CHAPTERS).values()) == ["ann", "ben", "ben"]


def test_a_long_name_takes_no_time() -> None:
    path = f"ann/06_topic{'1' * 200}x.ipynb"
    assert students_of([path], CHAPTERS) == {path: f"06_topic{'1' * 200}x"}
