"""What an editor needs beside an article (`dossier`), and what an editor changed in it (`corrections`)."""
