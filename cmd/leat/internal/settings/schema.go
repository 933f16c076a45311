package settings

import (
	"maps"
	"reflect"
	"strings"
)

// JSONSchema returns the JSON Schema of a file, for editors.
func JSONSchema() map[string]any {
	schema := object(reflect.TypeFor[File]())
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "leat"
	return schema
}

func object(t reflect.Type) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": propertiesOf(t)}
}

func propertiesOf(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case options == "inline":
			maps.Copy(properties, propertiesOf(f.Type))
		case name != "":
			properties[name] = property(f)
		}
	}
	return properties
}

func property(f reflect.StructField) map[string]any {
	schema := schemaOf(f.Type)
	schema["description"] = f.Tag.Get("doc")
	return schema
}

func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[Text]():
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	default:
		return object(t)
	}
}
