package content

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// Event is an event type in its current version, with the conversions from older versions. Of
// returns it.
type Event struct {
	name    string
	version int
	typ     reflect.Type
	codec   Codec
	older   []Older // by version
}

// Older is a former version of an event type. From returns it.
type Older struct {
	version  int
	from, to reflect.Type
	decode   func(payload []byte) (any, error) // nil without a codec
	up       func(old any) (any, error)
}

// Of returns the event type of T, under the name that messages carry. Version counts from 1. A
// change that readers of the former version can still read keeps the version. Any other change
// raises it, and the former type is added to older. The name stays the same: consumers are often
// configured to acknowledge unknown names.
func Of[T any](name string, version int, codec Codec, older ...Older) Event {
	older = slices.Clone(older)
	slices.SortStableFunc(older, func(a, b Older) int { return a.version - b.version })
	return Event{name: name, version: version, typ: reflect.TypeFor[T](), codec: codec, older: older}
}

// From returns the version of an event type whose values were of type Old, with up, which
// converts such a value to the next version. Up should depend on nothing else: it runs each time
// such a message is read. Its error fails the message; mark it by inbox.Permanent if it is final.
func From[Old, New any](version int, codec Codec, up func(Old) (New, error)) Older {
	o := Older{version: version, from: reflect.TypeFor[Old](), to: reflect.TypeFor[New]()}
	if codec == nil || up == nil {
		return o
	}
	o.decode = func(payload []byte) (any, error) {
		target := reflect.New(base(o.from))
		if err := codec.Decode(payload, target.Interface()); err != nil {
			return nil, err
		}
		if o.from.Kind() != reflect.Pointer {
			target = target.Elem()
		}
		return target.Interface(), nil
	}
	o.up = func(old any) (any, error) {
		typed, _ := old.(Old) // NewMarshaler has compared the types
		return up(typed)
	}
	return o
}

// base returns the type that a pointer type points to.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// oldest returns the oldest version that can be read.
func (e Event) oldest() int { return e.version - len(e.older) }

func (e Event) validate() error {
	field := fmt.Sprintf("Of(%q)", e.name)
	switch {
	case e.name == "" || len(e.name) > outbox.MaxTypeBytes:
		return outbox.ConfigError(field, fmt.Sprintf("%d bytes", len(e.name)), fmt.Sprintf("a name has 1 to %d bytes", outbox.MaxTypeBytes))
	case e.version < 1:
		return outbox.ConfigError(field, e.version, "versions count from 1")
	case e.codec == nil:
		return outbox.ConfigError(field, nil, "a codec is required")
	case e.oldest() < 1:
		return outbox.ConfigError(field, e.version, "there are more older versions than numbers below it")
	}
	next := e.typ
	for i, o := range slices.Backward(e.older) {
		at := fmt.Sprintf("%s, version %d", field, o.version)
		switch {
		case o.version != e.oldest()+i:
			return outbox.ConfigError(at, o.version, fmt.Sprintf("must be %d: older versions have no gaps, and end before the current one", e.oldest()+i))
		case o.decode == nil:
			return outbox.ConfigError(at, nil, "a codec and a function are required")
		case o.to != next:
			return outbox.ConfigError(at, o.to, fmt.Sprintf("the next version is of type %v", next))
		}
		next = o.from
	}
	return nil
}

// decode decodes payload, of the given version of e, into target, a pointer to e's base type.
func (e Event) decode(version int, payload []byte, target any) error {
	if version == e.version {
		return e.codec.Decode(payload, target)
	}
	older := e.older[version-e.oldest():]
	value, err := older[0].decode(payload)
	for i := 0; err == nil && i < len(older); i++ {
		value, err = older[i].up(value)
	}
	if err != nil {
		return err
	}
	made := reflect.ValueOf(value)
	if made.Kind() == reflect.Pointer && e.typ.Kind() == reflect.Pointer {
		if made.IsNil() {
			return fmt.Errorf("the function that makes version %d returned nil", e.version)
		}
		made = made.Elem()
	}
	reflect.ValueOf(target).Elem().Set(made)
	return nil
}
