"""The tooling of the course: it builds the notebooks, checks and grades them, and keeps the learner's progress."""

import sys

# nbformat's jsonschema would compile a grammar of internationalised addresses at each start, for seconds; notebooks
# hold no such addresses.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
