SELECT row_security_active(@{text:}::regclass) WHERE @{primary}
