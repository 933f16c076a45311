// Package points keeps the list of failure points correct: each is reached by code and armed by
// tests with every kind of failure, or [Audit] reports it. It reads the sources for that, so that
// neither the list nor the page that [Page] makes from it becomes outdated.
package points

//go:generate go run ../cmd/failurepoints
