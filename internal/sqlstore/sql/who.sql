SELECT @{server}
