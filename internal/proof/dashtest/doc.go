// Package dashtest drives the pages of the dashboard in a real Chromium. It has only tests, and is
// a separate module because of their dependencies.
package dashtest
