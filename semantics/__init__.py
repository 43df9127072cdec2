"""What a query means: the definitions of the papers, executable clause by clause."""
