package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is the place of a section in a file.
type Place struct {
	// Path is the name of the section, such as outboxes[0].relays[1].
	Path string
	// Line is 0 if it is not in a file.
	Line int
}

// decoder fills structs of Texts from nodes, and reports unknown fields. It records the place of each Text
// and each Place.
type decoder struct {
	findings []Finding
	// left is how many values the file may still have.
	left int
}

const (
	// mostBytes bounds the size of a file, mostValues its number of values. An alias counts with all values
	// that it stands for, since a few lines of aliases can stand for any number of values.
	mostBytes  = 1 << 20
	mostValues = 100_000
	// mostFindings is how many findings are reported.
	mostFindings = 100
)

// spend counts n values, and reports whether the file may have them.
func (d *decoder) spend(n int) bool {
	d.left -= n
	return d.left >= 0
}

// decode fills to from reader, which has one document or none.
func decode(reader io.Reader, to any) []Finding {
	var document, second yaml.Node
	content, err := io.ReadAll(reader)
	if err != nil {
		return []Finding{{Text: err.Error()}}
	}
	documents := yaml.NewDecoder(bytes.NewReader(content))
	if err := documents.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return []Finding{syntax(err, content)}
	}
	if err := documents.Decode(&second); !errors.Is(err, io.EOF) {
		return []Finding{{Text: "must be one document"}}
	}
	d := decoder{left: mostValues}
	d.value(document.Content[0], reflect.ValueOf(to).Elem(), "")
	if d.left < 0 {
		return []Finding{{Text: fmt.Sprintf("is too large: it has more than %d values, those that aliases stand for included", mostValues)}}
	}
	return d.findings
}

func (d *decoder) wrong(node *yaml.Node, path, format string, args ...any) {
	if len(d.findings) >= mostFindings {
		return
	}
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	d.findings = append(d.findings, Finding{Line: node.Line, Text: text})
}

func (d *decoder) value(node *yaml.Node, v reflect.Value, path string) {
	if !d.spend(1) {
		return
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch to := v.Addr().Interface().(type) {
	case *Text:
		d.text(node, to, path)
		return
	case *Place:
		return
	}
	if node.ShortTag() == "!!null" {
		return // it sets nothing
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(node, v.Elem(), path)
	case reflect.Slice:
		d.list(node, v, path)
	case reflect.Map:
		d.named(node, v, path)
	default:
		d.section(node, v, path)
	}
}

func (d *decoder) text(node *yaml.Node, to *Text, path string) {
	switch {
	case node.Kind != yaml.ScalarNode:
		d.wrong(node, path, "must be a text")
	case node.ShortTag() != "!!null":
		*to = Text{Value: node.Value, line: node.Line, name: path}
	}
}

func (d *decoder) list(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		d.wrong(node, path, "must be a list")
		return
	}
	if !d.spend(len(node.Content)) {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
	for i, element := range node.Content {
		d.value(element, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// named fills a map whose keys the file chooses.
func (d *decoder) named(node *yaml.Node, v reflect.Value, path string) {
	d.pairs(node, path, func(key, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, join(path, key.Value))
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

// section fills a struct.
func (d *decoder) section(node *yaml.Node, v reflect.Value, path string) {
	known := map[string]reflect.Value{}
	fieldsOf(v, known)
	if at, ok := known["-"]; ok {
		at.Set(reflect.ValueOf(Place{path, node.Line}))
		delete(known, "-")
	}
	d.pairs(node, path, func(key, value *yaml.Node) {
		if field, ok := known[key.Value]; ok {
			d.value(value, field, join(path, key.Value))
			return
		}
		d.wrong(key, "", "unknown field %q", join(path, key.Value))
	})
}

// pairs calls each for the pairs of a mapping. Merged pairs come first, so that the mapping's own replace
// them.
func (d *decoder) pairs(node *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		d.wrong(node, path, "must have fields")
		return
	}
	var merged, own [][2]*yaml.Node
	names := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge" && value.Kind == yaml.AliasNode && value.Alias.Kind == yaml.MappingNode && value.Alias != node:
			if !d.spend(len(value.Alias.Content)) {
				return
			}
			for j := 0; j+1 < len(value.Alias.Content); j += 2 {
				merged = append(merged, [2]*yaml.Node{value.Alias.Content[j], value.Alias.Content[j+1]})
			}
		case names[key.Value]:
			d.wrong(key, "", "field %q is there twice", join(path, key.Value))
		default:
			names[key.Value] = true
			own = append(own, [2]*yaml.Node{key, value})
		}
	}
	for _, pair := range append(merged, own...) {
		each(pair[0], pair[1])
	}
}

// fieldsOf collects the fields of a struct by their names in the file, and its Place as "-".
func fieldsOf(v reflect.Value, known map[string]reflect.Value) {
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			fieldsOf(v.Field(i), known)
		case name != "":
			known[name] = v.Field(i)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
