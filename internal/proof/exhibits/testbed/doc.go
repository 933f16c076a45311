// Package testbed is what exhibits are played on: PostgreSQL and Kafka, reduced to a
// run's own part of them, and the pieces of a service that the scenarios share.
package testbed
