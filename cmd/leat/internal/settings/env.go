package settings

import "strings"

// Variable is the name of the variable of a setting: LEAT_ and the setting's name. That of database is
// LEAT_DATABASE_URL.
func Variable(name string) string {
	if name == "database" {
		return "LEAT_DATABASE_URL"
	}
	return "LEAT_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// FromEnv returns the settings of variables.
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

// byDefault is the value of Text.From for a default.
const byDefault = "default"

// Defaults are the default settings for the database at a URL. MySQL, MariaDB and SQLite have no schemas;
// the names of their tables are the library's defaults.
func Defaults(database string) Settings {
	said := func(value string) Text { return Text{Value: value, From: byDefault} }
	s := Settings{Output: said("table"), Time: said("relative"), Color: said("auto")}
	if IsSQL(database) {
		s.Outbox, s.Inbox, s.Dedupe = said("leat_outbox"), said("leat_inbox"), said("leat_dedupe")
	} else {
		s.Schema, s.Outbox, s.Inbox, s.Dedupe = said("leat"), said("outbox"), said("inbox"), said("dedupe")
	}
	return s
}

// At returns s for the database at another URL. Table names that are defaults become the defaults of that
// database.
func (s Settings) At(database string) Settings {
	for _, name := range []*Text{&s.Schema, &s.Outbox, &s.Inbox, &s.Dedupe} {
		if name.From == byDefault {
			*name = Text{}
		}
	}
	if s.Database.Value != database && IsSQL(database) {
		s.Schema = Text{} // it is the schema of the other database
	}
	return s.Or(Defaults(database))
}
