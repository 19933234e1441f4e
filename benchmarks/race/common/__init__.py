"""What all races share: measuring, searching, data, tables, the page."""
