//go:build demo_sqlite

package main

import _ "modernc.org/sqlite" // the driver "sqlite", which takes a minute to compile
