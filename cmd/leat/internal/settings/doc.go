// Package settings reads leat's settings from flags, variables and a file. The file is in YAML, may have
// profiles, and is checked strictly, with line numbers in errors.
package settings
