"""The JSON Schema of the matrix file, from the models that read it."""

from __future__ import annotations

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from builder.documents.sections import FORMAT, MatrixFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Writes the schema as the file is read: no key may be null, and keys that match no pattern are refused."""

    schema_dialect = DIALECT

    def field_title_should_be_set(self, schema: object) -> bool:
        """Leave out titles that only repeat the key."""
        del schema
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Describe an optional key by its value: it is left out, never null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Describe a default only where a value could be written for it."""
        made = super().default_schema(schema)
        if made.get("default", 0) is None:
            made.pop("default")
        return made

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Refuse keys that match no pattern."""
        made = super().dict_schema(schema)
        return {**made, "additionalProperties": False} if "patternProperties" in made else made

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        """Return the schema with its dialect and name first."""
        made = super().generate(schema, mode)
        return {"$schema": DIALECT, "$id": f"urn:imgbuild:matrix:{FORMAT}", **made, "title": "imgbuild matrix file"}


def matrix_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of matrix files.

    It says the shape; what a name, a requirement or a reference must look like in full, and what
    follows from the cells, is for ``imgbuild matrix lint`` to say.
    """
    return dict(MatrixFile.model_json_schema(schema_generator=_Generator))
