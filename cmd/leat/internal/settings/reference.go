package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Reference returns the sections of a daemon in Markdown, for docs/daemon.md: one table for each.
func Reference() string {
	var page strings.Builder
	section(&page, "", reflect.TypeFor[Daemon](), map[string]bool{})
	return page.String()
}

// section writes the table of a struct, and those of the structs in it. It names rows that are in shown
// instead of repeating them. The dashboard has the flags of leat dash.
func section(page *strings.Builder, path string, t reflect.Type, shown map[string]bool) {
	title := path
	title = cmp.Or(title, "top")
	fmt.Fprintf(page, "\n### %s\n\n", title)
	if t == reflect.TypeFor[Dashboard]() {
		var fields []string
		for f := range t.Fields() {
			if name := f.Tag.Get("yaml"); name != "-" {
				_, form := element(f.Type)
				fields = append(fields, "`"+name+form+"`")
			}
		}
		fmt.Fprintf(page, "As the flags of [`leat dash`](cli.md#leat-dash): %s.\n", strings.Join(fields, ", "))
		return
	}
	page.WriteString("| field | | default |\n|---|---|---|\n")
	var inner []func()
	var again []string
	var rows func(t reflect.Type)
	rows = func(t reflect.Type) {
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case options == "inline":
				rows(f.Type)
				continue
			case name == "" || name == "-":
				continue
			}
			below, form := element(f.Type)
			what, value := cells(strings.ReplaceAll(f.Tag.Get("doc"), "|", `\|`))
			row := fmt.Sprintf("| `%s` | %s | %s |\n", name+form, what, value)
			if shown[row] {
				again = append(again, "`"+name+form+"`")
			} else {
				page.WriteString(row)
			}
			shown[row] = true
			if below != nil {
				at := strings.TrimPrefix(path+"."+name+form, ".")
				inner = append(inner, func() { section(page, at, below, shown) })
			}
		}
	}
	rows(t)
	if len(again) > 0 {
		fmt.Fprintf(page, "\nAs above: %s.\n", strings.Join(again, ", "))
	}
	for _, write := range inner {
		write()
	}
}

// cells splits the documentation of a field into its description and its default.
func cells(doc string) (what, value string) {
	if field, found := strings.CutSuffix(doc, " Required."); found {
		return field, "required"
	}
	what, value, _ = strings.Cut(doc, " Defaults to ")
	value = strings.TrimSuffix(value, ".")
	if value == "none" {
		value = "–"
	}
	return what, value
}

// element returns the struct type that a field has, as a value, in a list or in a map; nil if it has texts.
func element(t reflect.Type) (below reflect.Type, form string) {
	switch t.Kind() { //nolint:exhaustive // settings have no other kinds
	case reflect.Pointer:
		t = t.Elem()
	case reflect.Slice:
		t, form = t.Elem(), "[]"
	case reflect.Map:
		t, form = t.Elem(), ".*"
	}
	if t == reflect.TypeFor[Text]() {
		return nil, form
	}
	return t, form
}
