"""Whose a submission is, by its path."""

import pytest

from course.grading.student import passed_over, students_of

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
        "class/ann/my homework FINAL v2.ipynb",
        "class/ann/hw.ipynb",
        "submitted/ann/06_topic/06_topic.ipynb",
        "submitted/ann/06_topic/06_topic (1).ipynb",
        "/home/ann/06b_more.ipynb#06_topic",
        "class/ann/bob.ipynb",
    ],
)
def test_whose_it_is(path: str) -> None:
    assert students_of([path, "class/bob/06_topic.ipynb"], CHAPTERS)[path] == "ann"


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("class/06_topic_bob.ipynb", "06_topic_bob"),  # one folder for all: the file's name tells them apart
        ("class/06_topical.ipynb", "06_topical"),
        ("first/bob.ipynb", "first/bob"),  # a folder is one student's, whoever else is called so
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


@pytest.mark.parametrize(
    ("path", "student", "folder"),
    [
        ("class/dan/my graph.ipynb", "dan", ""),  # the folders beside it are students'
        ("class/dan/my graph (1).ipynb", "dan", ""),
        ("class/dan/06_topic/my graph.ipynb", "dan", ""),
        ("class/fay.ipynb", "fay", ""),  # the class's folder is no student's
        ("class/group2/ben/my graph.ipynb", "my graph", "ben"),  # nobody else is in group2
        ("other/ben.ipynb", "ben", "other"),
    ],
)
def test_in_a_class_of_folders_a_file_is_its_folders(path: str, student: str, folder: str) -> None:
    paths = [path, "class/ann/06_topic.ipynb", "class/carl/06_topic.ipynb", "class/eve.ipynb"]
    students = students_of(paths, CHAPTERS)
    assert students[path] == student
    assert passed_over(students, CHAPTERS) == ({path: folder} if folder else {})


def test_a_folder_of_two_names_is_no_students_but_each_row_names_it() -> None:
    """A group's folder looks like that of a student with two notebooks, and nobody's points may be lost."""
    paths = ["class/x/ann.ipynb", "class/x/ben.ipynb", "class/carl/06_topic.ipynb", "class/dora/06_topic.ipynb"]
    students = students_of(paths, CHAPTERS)
    assert list(students.values()) == ["ann", "ben", "carl", "dora"]
    assert passed_over(students, CHAPTERS) == dict.fromkeys(paths[:2], "x")


@pytest.mark.parametrize("folders", [("class",), ("first", "second"), ("class/first", "class/second")])
def test_of_folders_with_many_students_no_row_names_them(folders: tuple[str, ...]) -> None:
    paths = [f"{folder}/{name} of {folder[-3:]}.ipynb" for folder in folders for name in ("ann", "ben")]
    assert passed_over(students_of(paths, CHAPTERS), CHAPTERS) == {}


def test_the_folder_of_all_files_is_no_students() -> None:
    assert passed_over(students_of(["class/fay.ipynb"], CHAPTERS), CHAPTERS) == {}


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("class/ann.ipynb", "class/ann/06_topic.ipynb"),
        ("class/06_topic/ann.ipynb", "class/00_welcome/ann.ipynb"),
        ("class/06_topic/ann/Untitled.ipynb", "class/ann/00_welcome.ipynb"),
        ("class/ann/ann.ipynb", "class/ann/00_welcome.ipynb"),
        ("class/ann/06_topic/06_topic.ipynb", "class/ann/00_welcome.ipynb"),
    ],
)
def test_all_of_a_students_files_are_theirs(path: str, other: str) -> None:
    assert {*students_of([path, other, "class/bob.ipynb"], CHAPTERS).values()} == {"ann", "bob"}


@pytest.mark.parametrize(
    ("paths", "students"),
    [
        (["ann/work.ipynb", "group2/ann/work.ipynb"], ["ann", "group2/ann"]),
        (["class/ann/work.ipynb", "class/group2/ann/work.ipynb"], ["class/ann", "group2/ann"]),
        (["a/x/ann/06_topic.ipynb", "b/x/ann/06_topic.ipynb"], ["a/x/ann", "b/x/ann"]),
        (["first/ann.ipynb", "first/ben.ipynb", "second/ben.ipynb"], ["ann", "first/ben", "second/ben"]),
        (["class/ann.ipynb", "class/bob/ann/06_topic.ipynb"], ["class/ann", "bob/ann"]),
        (
            ["ann/work.ipynb", "ben/work.ipynb", "bob/x/work.ipynb", "bob/x/y.ipynb"],
            ["ann/work", "ben/work", "x/work", "y"],
        ),
    ],
)
def test_students_who_are_called_alike_are_told_apart_by_their_folders(paths: list[str], students: list[str]) -> None:
    assert list(students_of(paths, CHAPTERS).values()) == students


@pytest.mark.parametrize("name", ["ann ", "Ann", "a\u200bnn", "\uff41nn"])
def test_who_takes_a_name_that_looks_like_anothers_is_told_apart(name: str) -> None:
    paths = [f"class/eve/{name}.ipynb", "class/ann/06_topic.ipynb"]
    assert list(students_of(paths, CHAPTERS).values()) == ["eve", "ann"]
    flat = [f"class/{name}.ipynb", "class/ann.ipynb", "class/eve.ipynb"]
    assert list(students_of(flat, CHAPTERS).values()) == [f"class/{name}", "class/ann", "eve"]


def test_no_folder_that_somebody_makes_takes_the_names_of_others_away() -> None:
    files = ["class/ann.ipynb", "class/zoe.ipynb", "class/bob/ann/06_topic.ipynb", "class/bob/zoe/06_topic.ipynb"]
    assert list(students_of(files, CHAPTERS).values()) == ["class/ann", "class/zoe", "bob/ann", "bob/zoe"]


def test_a_long_name_takes_no_time() -> None:
    path = f"ann/06_topic{'1' * 200}x.ipynb"
    assert students_of([path], CHAPTERS) == {path: f"06_topic{'1' * 200}x"}
