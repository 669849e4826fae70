module wirelap.test/adapters/go

go 1.18
