package settings

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// reloaded matches the settings that a running daemon can reload: the log level, certificates, passwords
// and sign-ins.
var reloaded = regexp.MustCompile(`^(log\.level|http\.(cert_file|key_file)|http\.dashboard\.(allow|basic|bearer|proxy_\w+)(\[\d+\])?|(.*\.)?kafka\.(user|password|ca_file|cert_file|key_file)|actor|output|time|color)$`)

// Run are all settings that a daemon was started with.
type Run struct {
	Settings Settings
	Daemon   Daemon
}

// NeedRestart returns the names of the fields that differ in next and that a running daemon cannot reload,
// in order. It does not reveal values.
func (r Run) NeedRestart(next Run) (names []string) {
	before, after := r.values(), next.values()
	for _, all := range []map[string]string{before, after} {
		for name := range all {
			if before[name] != after[name] && !reloaded.MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// values are all fields that are set, by name.
func (r Run) values() map[string]string {
	all := make(map[string]string)
	for _, f := range fields(&r.Settings) {
		if f.text.Set() {
			all[f.name] = f.text.Value
		}
	}
	flatten(reflect.ValueOf(r.Daemon), "", all)
	return all
}

// flatten adds the texts of v to all, by path.
func flatten(v reflect.Value, path string, all map[string]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			flatten(v.Elem(), path, all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			flatten(v.Index(i), fmt.Sprintf("%s[%d]", path, i), all)
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(maps.Keys(mapOf(v)), strings.Compare) {
			flatten(mapOf(v)[key], path+"."+key, all)
		}
	case reflect.Struct:
		if text, ok := reflect.TypeAssert[Text](v); ok {
			if text.Set() {
				all[strings.TrimPrefix(path, ".")] = text.Value
			}
			return
		}
		for i := range v.NumField() {
			name, inline, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch {
			case !v.Type().Field(i).IsExported() || name == "-":
			case inline == "inline":
				flatten(v.Field(i), path, all)
			default:
				flatten(v.Field(i), path+"."+name, all)
			}
		}
	default:
	}
}

func mapOf(v reflect.Value) map[string]reflect.Value {
	all := make(map[string]reflect.Value, v.Len())
	for _, key := range v.MapKeys() {
		all[key.String()] = v.MapIndex(key)
	}
	return all
}
