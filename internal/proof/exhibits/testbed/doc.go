// Package testbed is the environment of exhibits: a run's own part of PostgreSQL and Kafka, and the
// pieces of a service that the scenarios share.
package testbed
