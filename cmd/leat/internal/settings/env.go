package settings

import "strings"

// Variable is the name of the variable of a setting: LEAT_ and its name, but
// LEAT_DATABASE_URL.
func Variable(name string) string {
	if name == "database" {
		return "LEAT_DATABASE_URL"
	}
	return "LEAT_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// FromEnv returns what variables say.
func FromEnv(lookup func(string) (string, bool)) Settings {
	var s Settings
	for _, field := range fields(&s) {
		variable := Variable(field.name)
		if value, _ := lookup(variable); value != "" {
			*field.text = Text{Value: value, From: variable}
		}
	}
	return s
}

// Defaults are what counts if nobody says anything.
func Defaults() Settings {
	said := func(value string) Text { return Text{Value: value, From: "default"} }
	return Settings{
		Schema: said("leat"), Outbox: said("outbox"), Inbox: said("inbox"), Dedupe: said("dedupe"),
		Output: said("table"), Time: said("relative"), Color: said("auto"),
	}
}
