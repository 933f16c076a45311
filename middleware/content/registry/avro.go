package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
)

// Avro returns the codec of a struct as the record that schema describes, by the field names in
// tags such as `avro:"total"`. It refuses a struct and a record with different fields, including
// nested ones. Payloads of other versions, whose record has the same full name or that of an
// alias, are read by Avro's rules of schema resolution.
func Avro[T any](r *Registry, schema string, o Options) (content.Codec, error) {
	parsed, err := avro.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("leat: registry: %w", err)
	}
	name, aliases := recordName(parsed)
	if name == "" {
		return nil, errors.New("leat: registry: the schema is not that of an Avro record")
	}
	if err := matchFields(reflect.TypeFor[T](), parsed); err != nil {
		return nil, fmt.Errorf("leat: registry: record %s: %w", name, err)
	}
	s := &subject{schema: sr.Schema{Schema: schema, Type: sr.TypeAvro}, explain: func(latest string) string { return incompatible(latest, parsed) }}
	if err := r.add(s, name, o); err != nil {
		return nil, err
	}
	return &avroCodec[T]{s: s, schema: parsed, names: append(aliases, name)}, nil
}

// incompatible returns why one of two schemas cannot read the other's payloads.
func incompatible(latest string, ours *avro.Schema) string {
	theirs, err := avro.Parse(latest)
	if err != nil {
		return err.Error()
	}
	text := ""
	if err := avro.CheckCompatibility(theirs, ours); err != nil {
		text = "reading the latest version: " + err.Error()
	}
	if err := avro.CheckCompatibility(ours, theirs); err != nil {
		text += "; being read by it: " + err.Error()
	}
	return text
}

type avroCodec[T any] struct {
	s       *subject
	schema  *avro.Schema
	names   []string // names of the records that the codec accepts
	readers sync.Map // avroReader by the writer's id
}

// avroReader reads payloads of one schema. An error means that the codec does not accept them.
type avroReader struct {
	schema *avro.Schema
	err    error
}

// ContentType implements content.Codec.
func (*avroCodec[T]) ContentType() string { return "application/vnd.confluent.avro" }

// Encode implements content.Codec.
func (c *avroCodec[T]) Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case *T:
		if v == nil {
			return nil, c.s.wrap(errors.New("the value is nil"))
		}
	case T:
	default:
		return nil, c.s.wrap(fmt.Errorf("a %T is not a %s", v, reflect.TypeFor[T]()))
	}
	b, err := c.s.frame()
	if err != nil {
		return nil, err
	}
	if b, err = c.schema.AppendEncode(b, v); err != nil {
		return nil, c.s.wrap(err)
	}
	return b, nil
}

// Decode implements content.Codec.
func (c *avroCodec[T]) Decode(payload []byte, v any) error {
	if _, ok := v.(*T); !ok {
		return c.s.wrap(fmt.Errorf("a %T is not a *%s", v, reflect.TypeFor[T]()))
	}
	id, data, err := cutFrame(payload)
	if err != nil {
		return c.s.wrap(err)
	}
	schema, err := c.reader(id)
	if err == nil {
		err = decodeAvro(schema, data, v)
	}
	if err != nil {
		return c.s.wrap(fmt.Errorf("payload of schema %d: %w", id, err))
	}
	return nil
}

func decodeAvro(schema *avro.Schema, data []byte, v any) error {
	rest, err := schema.Decode(data, v)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left over", len(rest))
	}
	return inbox.Permanent(err)
}

// reader returns the schema that reads payloads with this id.
func (c *avroCodec[T]) reader(id int) (*avro.Schema, error) {
	if c.s.isOwn(id) {
		return c.schema, nil
	}
	if found, ok := c.readers.Load(id); ok {
		return found.(*avroReader).schema, found.(*avroReader).err
	}
	w, err := c.s.r.byID(id)
	if err != nil {
		return nil, err
	}
	var found avroReader
	found.schema, found.err = c.resolve(w)
	c.readers.Store(id, &found)
	return found.schema, found.err
}

func (c *avroCodec[T]) resolve(w *written) (*avro.Schema, error) {
	theirs, err := w.avro()
	if err != nil {
		return nil, inbox.Permanent(err)
	}
	// Resolve compares names without namespaces.
	if name, _ := recordName(theirs); !slices.Contains(c.names, name) {
		return nil, inbox.Permanent(fmt.Errorf("record %q is another type", name))
	}
	schema, err := avro.Resolve(theirs, c.schema)
	return schema, inbox.Permanent(err)
}

// avro parses the schema of a writer.
func (w *written) avro() (*avro.Schema, error) {
	if w.Type != sr.TypeAvro {
		return nil, fmt.Errorf("the schema is %v, not Avro", w.Type)
	}
	var cache avro.SchemaCache
	for _, text := range w.references {
		if _, err := cache.Parse(text); err != nil {
			return nil, err
		}
	}
	return cache.Parse(w.Schema.Schema)
}

// recordName returns the full name of a record and those of its aliases, "" for other schemas.
func recordName(s *avro.Schema) (name string, aliases []string) {
	root := s.Root()
	if root.Type != "record" {
		return "", nil
	}
	name = root.Name
	if !strings.Contains(name, ".") && root.Namespace != "" {
		name = root.Namespace + "." + name
	}
	for _, alias := range root.Aliases {
		if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.Contains(alias, ".") {
			alias = name[:i+1] + alias
		}
		aliases = append(aliases, alias)
	}
	return name, aliases
}

// matchFields compares the fields of a struct with those of a record, since the encoder drops
// what the record lacks.
func matchFields(t reflect.Type, s *avro.Schema) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s is not a struct", t)
	}
	// The canonical form has full names in all places.
	var node any
	if err := json.Unmarshal(s.Canonical(), &node); err != nil {
		return err
	}
	return (&matcher{records: map[string]map[string]any{}, seen: map[recordOf]bool{}}).match(t, node)
}

type matcher struct {
	records map[string]map[string]any
	seen    map[recordOf]bool
}

type recordOf struct {
	t    reflect.Type
	name string
}

func (m *matcher) match(t reflect.Type, node any) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case string:
		if record, ok := m.records[n]; ok {
			return m.record(t, n, record)
		}
	case []any:
		for _, branch := range n {
			if err := m.match(t, branch); err != nil {
				return err
			}
		}
	case map[string]any:
		switch n["type"] {
		case "record":
			name, _ := n["name"].(string)
			m.records[name] = n
			return m.record(t, name, n)
		case "array", "map":
			if k := t.Kind(); k == reflect.Slice || k == reflect.Array || k == reflect.Map {
				items, values := n["items"], n["values"]
				if items == nil {
					items = values
				}
				return m.match(t.Elem(), items)
			}
		}
	}
	return nil
}

func (m *matcher) record(t reflect.Type, name string, record map[string]any) error {
	pair := recordOf{t, name}
	switch {
	case t.Kind() == reflect.Map:
		return fmt.Errorf("a map loses keys that %s lacks: use a struct", name)
	case t.Kind() != reflect.Struct || m.seen[pair]:
		return nil
	}
	m.seen[pair] = true
	fields := map[string]reflect.Type{}
	structFields(t, fields)
	nodes, _ := record["fields"].([]any)
	for _, node := range nodes {
		node, _ := node.(map[string]any)
		field, _ := node["name"].(string)
		ft, ok := fields[field]
		if !ok {
			return fmt.Errorf("%s has no field for %s of %s", t, field, name)
		}
		delete(fields, field)
		if err := m.match(ft, node["type"]); err != nil {
			return err
		}
	}
	for field := range fields {
		return fmt.Errorf("%s has a field %s, which %s lacks: it would be lost", t, field, name)
	}
	return nil
}

// structFields collects the fields of a struct as the encoder names them.
func structFields(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("avro"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		inline := inner.Kind() == reflect.Struct && (f.Anonymous && name == "" || slices.Contains(strings.Split(options, ","), "inline"))
		switch {
		case f.Tag.Get("avro") == "-", !f.IsExported() && !inline:
		case inline:
			structFields(inner, into)
		case name == "":
			into[f.Name] = f.Type
		default:
			into[name] = f.Type
		}
	}
}
