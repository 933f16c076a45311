package history

import (
	"fmt"
	"reflect"
	"strings"
)

// String renders the line for human readers: when, where, what, and its fields.
func (t testimony) String() string {
	var b strings.Builder
	when := "at the end"
	if t.line.At != 0 {
		when = t.line.Time().Format("15:04:05.000000")
	}
	fmt.Fprintf(&b, "%-15s  %-10s", when, t.line.Type)
	fields := reflect.ValueOf(t.line)
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		if value := fields.Field(i); !value.IsZero() && name != "type" && name != "at" && name != "until" {
			fmt.Fprintf(&b, " %s=%v", name, value.Interface())
		}
	}
	if t.at.file != "" {
		fmt.Fprintf(&b, "  (%s)", t.at)
	}
	return b.String()
}
