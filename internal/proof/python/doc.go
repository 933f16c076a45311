// Package python is a shop whose producer and consumer are written in Python, and use only leat's
// functions in SQL. A test runs it together with a relay, kills its processes, and has the checker
// of histories judge the outcome.
package python
