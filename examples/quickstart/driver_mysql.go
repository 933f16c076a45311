//go:build demo_mysql

package main

import _ "github.com/go-sql-driver/mysql" // the driver "mysql"
