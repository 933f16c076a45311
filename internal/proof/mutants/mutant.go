package mutants

import (
	"regexp"
	"strings"
)

// Mutant is a change that breaks one rule.
type Mutant struct {
	// Name is unique among all mutants. Its words are joined by hyphens.
	Name string
	// Breaks are the promises that no longer hold, such as O2.
	Breaks []string
	// Change describes the change, for human readers.
	Change string

	// File is the file to change, from the root of the module that is mutated. Old occurs in it exactly
	// once and is replaced by New.
	File, Old, New string

	// Package is the directory of the test, from the root of the module that is mutated. It may be in a
	// module below that.
	Package string
	// Test is the name of the test that must fail, followed by the names of its subtests.
	Test string
	// Needs are the servers that the test uses.
	Needs Needs
	// Hangs is true if the broken rule may make the test hang, so that running out
	// of time counts as noticing.
	Hangs bool
}

// Area is a part of leat with its mutants.
type Area struct {
	Title   string
	Mutants []Mutant
}

// Needs is a set of servers. The zero value is the empty set.
type Needs uint8

// The servers that a test can need.
const (
	Postgres Needs = 1 << iota
	Kafka
	Redis
	MySQL
	MariaDB
	Dynamo
	Rabbit
)

// String lists the servers.
func (n Needs) String() string {
	var names []string
	for i, name := range []string{"PostgreSQL", "Kafka", "Redis", "MySQL", "MariaDB", "DynamoDB", "RabbitMQ"} {
		if n&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// pattern returns the argument of -run that selects only the test with this name.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// topLevel returns the name of the test function.
func (m *Mutant) topLevel() string {
	name, _, _ := strings.Cut(m.Test, "/")
	return name
}
