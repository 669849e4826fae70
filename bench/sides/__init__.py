"""What the programs of this folder share: files to serve, servers, drivers, rows and their table."""
