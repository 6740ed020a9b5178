from keyhole.show.chart import to_html as to_html
from keyhole.show.chart import to_png as to_png
from keyhole.show.chart import to_svg as to_svg
from keyhole.show.site import save_figure as save_figure
