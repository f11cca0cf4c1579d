"""The description of the API, and whether answers are as it says. Stricter than JSON Schema in one point: an object has
no members that are not described, unless the schema says so itself."""
import json
import re

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None)}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ANNOTATIONS = {"description"}


class Description:
    def __init__(self, document):
        self.document, self.seen = document, set()
        self.paths = [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), path) for path in document["paths"]]

    def operation(self, method, target):
        """(path as described, operation); None where there is none."""
        path = target.partition("?")[0]
        for pattern, name in self.paths:
            if pattern.fullmatch(path):
                return name, self.document["paths"][name].get(method.lower())
        return None, None

    def check(self, method, target, answer):
        """That this answer to a request is a described one."""
        path, operation = self.operation(method, target)
        if operation is None:
            assert answer.status >= 400, f"{method} {target}: is not described, and is answered {answer.status}"
            return self.validate({"$ref": "#/components/schemas/Problem"}, answer.json, f"{method} {target}")
        where = f"{method} {path} {answer.status}"
        described = operation["responses"].get(str(answer.status))
        assert described, f"{where}: this status is not described"
        assert answer.type in described["content"], f"{where}: the type {answer.type} is not described"
        self.seen.add((path, method.lower(), answer.status))
        if schema := described["content"][answer.type].get("schema"):
            self.validate(schema, answer.json, where)

    def validate(self, schema, value, where):
        if found := self.wrong(schema, value, "$"):
            raise AssertionError(f"{where}: {found}\n{json.dumps(value)[:2000]}")

    def wrong(self, schema, value, at):
        """What is wrong, or None."""
        schema = {keyword: said for keyword, said in schema.items() if keyword not in ANNOTATIONS}
        for keyword, said in schema.items():
            if found := getattr(self, "of_" + keyword.removeprefix("$"))(said, value, at, schema):
                return found

    def of_ref(self, said, value, at, schema):
        return self.wrong(self.document["components"]["schemas"][said.removeprefix("#/components/schemas/")], value, at)

    def of_type(self, said, value, at, schema):
        kinds = [said] if isinstance(said, str) else said
        if not any(isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds):
            return f"{at} is {value!r}, not of type {said}"

    def of_enum(self, said, value, at, schema):
        if value not in said:
            return f"{at} is {value!r}, none of {said}"

    def of_format(self, said, value, at, schema):
        assert said == "date-time"
        if value is not None and not TIME.fullmatch(value):
            return f"{at} is {value!r}, no time"

    def of_items(self, said, value, at, schema):
        return next(filter(None, (self.wrong(said, each, f"{at}[{n}]") for n, each in enumerate(value))), None)

    def of_properties(self, said, value, at, schema):
        if "additionalProperties" not in schema and (further := set(value) - set(said)):
            return f"{at} has {sorted(further)}, which are not described"
        return next(filter(None, (self.wrong(said[name], each, f"{at}.{name}") for name, each in value.items() if name in said)), None)

    def of_additionalProperties(self, said, value, at, schema):
        if said is True:
            return None
        known = schema.get("properties", {})
        return next(filter(None, (self.wrong(said, each, f"{at}.{name}") for name, each in value.items() if name not in known)), None)

    def of_required(self, said, value, at, schema):
        if missing := set(said) - set(value):
            return f"{at} lacks {sorted(missing)}"

    def of_anyOf(self, said, value, at, schema):
        found = [self.wrong(each, value, at) for each in said]
        if all(found):
            return "; or ".join(found)
