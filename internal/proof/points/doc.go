// Package points keeps the list of failure points honest: each is reached by code and
// armed by tests with every kind of failure, or [Audit] says which is not. It reads the
// source for that, so that neither the list nor the page that [Page] makes of it can
// rot.
package points

//go:generate go run ../cmd/failurepoints
