// Package settings is where leat finds its database and what it is told once: a file in
// YAML with profiles, checked strictly, with line numbers in errors.
package settings
