"""What switches dropped and whom it hurt, as text, HTML, PDF and figures. Reads records only."""
