"""The command `course`."""

from course.commands import authoring, folder, grading, interview, learner, main  # noqa: F401  the files add to `main`

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="course")
