"""Pure statistics: numbers in, structs out."""
