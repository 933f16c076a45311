// Package dashtest drives the pages of the dashboard in a real Chromium. It has tests only, and
// is a module of its own for their sake.
package dashtest
