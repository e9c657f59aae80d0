"""The spiders of this project.

Please refer to the documentation for information on how to create and manage your
spiders.
"""
