// Package python is a shop whose producer and consumer are written in Python, with nothing of
// leat but its functions in SQL. A test runs it beside a relay, kills its processes, and lets
// the checker of histories judge what came of it.
package python
