"""The course as a web site: `make site` makes it from what the repository holds, and runs no notebook."""
